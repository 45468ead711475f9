#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What test_boot.py runs inside a container that has booted: it ends in "all is well".
set -euo pipefail

die() {
    echo "$*"
    journalctl --no-pager -u vrtd.service | tail -n 40
    exit 1
}

main_pid() { systemctl show -p MainPID --value vrtd.service; }
restarts() { systemctl show -p NRestarts --value vrtd.service; }

# wait_until SECONDS COMMAND...
wait_until() {
    local until=$((SECONDS + $1))
    shift
    while ! "$@"; do
        ((SECONDS < until)) || die "in vain: $*"
        sleep 0.2
    done
}

has_restarted() { (($(restarts) > $1)) && [[ $(main_pid) != 0 ]]; }
has_segment() { (($(vrtctl show --json "$1" | sed 's/.*"segments_done":\([0-9]*\).*/\1/') > 0)); }

cd /root
ffmpeg -v error -f lavfi -i testsrc2=size=64x48:rate=25 -frames:v 48 film.mkv

echo "-- the socket starts the service"
systemctl start vrtd.socket
[[ $(systemctl is-active vrtd.service) = inactive ]] || die "it runs already"
vrtctl status
[[ $(systemctl is-active vrtd.service) = active ]] || die "it doesn't run"
[[ $(stat -c %U /proc/"$(main_pid)") = vrtd ]] || die "it runs as another user"

echo "-- a job, within the unit's walls and vrt-media's"
vrtctl submit --follow --output quiet.mkv film.mkv >/dev/null
[[ $(vrtctl doctor --json) = *'"media.sandbox","subject":"vrt-media","status":"ok"'* ]] ||
    vrtctl doctor
journalctl -u vrtd.service | grep 'locks itself in with' && die "vrt-media lacks a wall"

# begin NAME: a job that has stored something.
begin() {
    job=$(vrtctl submit --json --output "$1" film.mkv | sed 's/.*"id":\([0-9]*\).*/\1/')
    wait_until 60 has_segment "$job"
}

# ends NAME: by itself, with the bytes of the quiet run.
ends() {
    vrtctl wait "$job" >/dev/null || die "job $job: $(vrtctl show "$job")"
    cmp quiet.mkv "$1" || die "other bytes"
}

echo "-- a restart keeps the files of jobs"
begin restarted.mkv
systemctl restart vrtd.service
ends restarted.mkv

echo "-- so does kill -9"
begin killed.mkv
n=$(restarts)
kill -9 "$(main_pid)"
wait_until 60 has_restarted "$n"
ends killed.mkv

echo "-- and the watchdog finds what hangs"
begin hung.mkv
n=$(restarts)
kill -STOP "$(main_pid)"
wait_until 60 has_restarted "$n"
ends hung.mkv

echo "-- a decoder that is killed for its memory doesn't stop the unit"
begin oom.mkv
pid=$(main_pid)
for child in $(cat /proc/"$pid"/task/*/children); do
    [[ $(cat /proc/"$child"/oom_score_adj) = 1000 ]] || die "it isn't the first to go"
done
ends oom.mkv
[[ $(systemctl show -p OOMPolicy --value vrtd.service) = continue ]] || die "OOMPolicy"
[[ $(main_pid) = "$pid" ]] || die "it was restarted"
systemctl stop vrtd.service vrtd.socket
echo "all is well"
