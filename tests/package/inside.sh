#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What package.sh runs inside a fresh tree of Debian: it ends in "all is well". There is no systemd
# that runs: vrtd is started by hand, as the unit's user, by the unit's command line.
set -euo pipefail
version=$1 later=$2

die() { echo "$*"; tail -n 20 /var/tmp/vrtd.log 2>/dev/null; exit 1; }

apt()
{
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -y --no-install-recommends "$@" \
        >/var/tmp/apt.log 2>&1 || { tail -n 20 /var/tmp/apt.log; die "apt-get $*"; }
}

# All files that there are, but for what any package's coming and going changes.
files()
{
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /packages -o -path /tmp \
        -o -path /var/tmp -o -path /var/lib/apt -o -path /var/cache -o -path /var/lib/dpkg \
        -o -path /var/log -o -path /var/lib/systemd \) -prune -o -print | sort
}

# await COMMAND...: for a minute at most.
await()
{
    local i
    for ((i = 0; i < 300; i++)); do
        ! "$@" || return 0
        sleep 0.2
    done
    die "in vain: $*"
}

ctl() { vrtctl --socket /run/vrtd/vrtd.sock "$@"; }
ids() { ctl submit --json "$@" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
has_segment() { [[ $(ctl show --json "$1") =~ \"segments_done\":[1-9] ]]; }

# As user vrtd, with the folders that the unit gives it.
start()
{
    local command
    command=$(sed -n 's/^ExecStart=//p' /lib/systemd/system/vrtd.service)
    install -d -o vrtd -g vrtd /run/vrtd
    setpriv --reuid=vrtd --regid=vrtd --init-groups env STATE_DIRECTORY=/var/lib/vrtd \
        CACHE_DIRECTORY=/var/cache/vrtd $command --socket /run/vrtd/vrtd.sock \
        >>/var/tmp/vrtd.log 2>&1 &
    pid=$!
    await test -S /run/vrtd/vrtd.sock
    await ctl status >/dev/null
}

apt update
# What it depends on first, so that what is left at the end is its own.
apt install ffmpeg
apt install /packages/vrtd_*.deb /packages/vrtd-doc_*.deb
apt purge vrtd vrtd-doc
files >/var/tmp/before
rm -f /var/tmp/vrtd.log

echo "-- installed: its user, groups, folders, units"
apt install /packages/*.deb
[[ $(id -nG vrtd) = *vrtd* && $(id -nG vrtd) = *render* ]] || die "vrtd is of $(id -nG vrtd)"
for folder in /var/lib/vrtd /var/cache/vrtd; do
    [[ $(stat -c '%U:%G %a' $folder) = 'vrtd:vrtd 700' ]] || die "$(stat $folder)"
done
for unit in multi-user.target.wants/vrtd.service sockets.target.wants/vrtd.socket; do
    [[ -L /etc/systemd/system/$unit ]] || die "$unit is not enabled"
done
[[ ! -e /etc/systemd/user/sockets.target.wants/vrtd.socket ]] || die "everybody has a daemon"
[[ $(vrtd --version) = "vrtd $version" ]] || die "$(vrtd --version)"
vrtd --check-config
for page in /usr/share/man/man*/vrt*; do
    [[ $(zcat "$page") = *$'\n.TH '* ]] || die "$page is no manual"
done

echo "-- a job, of vrtd and of its decoder within its walls"
cd /root
ffmpeg -v error -f lavfi -i testsrc2=size=160x120:rate=25 -frames:v 150 film.mkv
sed -i 's/^segment_frames = .*/segment_frames = 12/' /etc/vrtd/vrtd.conf
start
ctl submit --follow --output quiet.mkv film.mkv >/dev/null
[[ $(ffprobe -v error -show_entries stream=width,height -of csv=p=0 quiet.mkv) = 320,240 ]] ||
    die "no result"

echo "-- upgraded to $later beneath a running job, which goes on; so does what begins now"
job=$(ids --output upgraded.mkv film.mkv)
await has_segment "$job"
apt install -o Dpkg::Options::=--force-confold /packages/next/*.deb
[[ $(vrtctl --version) = "vrtctl $later" ]] || die "it is not upgraded"
other=$(ids --output begun.mkv film.mkv)
ctl show "$job" | sed -n 1p
ctl wait "$job" "$other" >/dev/null || die "$(ctl show "$job" "$other")"
cmp quiet.mkv upgraded.mkv && cmp quiet.mkv begun.mkv || die "other bytes"

echo "-- a restart by the new version, whose job goes on behind its last segment"
job=$(ids --output restarted.mkv film.mkv)
await has_segment "$job"
kill -9 "$pid"
wait "$pid" || true
rm -f /run/vrtd/vrtd.sock
start
grep -q "vrtd $later starts" /var/tmp/vrtd.log || die "it is not of version $later"
has_segment "$job" || die "what was stored is lost"
ctl resume "$job" >/dev/null
ctl wait "$job" >/dev/null || die "$(ctl show "$job")"
cmp quiet.mkv restarted.mkv || die "other bytes"
kill "$pid"
wait "$pid" || die "vrtd ended with $?"

echo "-- purged: nothing is left but the user"
apt purge vrtd 'vrtd-*'
rm -rf /root/*.mkv /run/vrtd
files >/var/tmp/after
diff /var/tmp/before /var/tmp/after || die "that is left"
[[ ! -e /var/cache/vrtd ]] || die "the cache is left"
dpkg-query -W 'vrtd*' 2>/dev/null | grep . && die "dpkg still knows it"
id vrtd >/dev/null || die "the number of the user may become somebody else's"
echo "all is well"
