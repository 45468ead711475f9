# SPDX-License-Identifier: MIT
# bash completion for vrtctl: commands, options, devices, models and jobs of the running daemon.

# The values of the first key (id, name) of each line that `vrtctl "$@" --json` prints.
_vrtctl_ask() {
    local socket=()
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -s | --socket) socket=(--socket "${COMP_WORDS[i + 1]}") ;;
        esac
    done
    "${COMP_WORDS[0]}" "${socket[@]}" --timeout 1 "$@" --json 2>/dev/null |
        sed -n 's/^{"\(id\|name\)":"\{0,1\}\([^",}]*\).*/\2/p'
}

_vrtctl_command() {
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -s | --socket | --timeout) ((i++)) ;;
        -*) ;;
        *)
            echo "${COMP_WORDS[i]}"
            return
            ;;
        esac
    done
}

_vrtctl_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# A list separated by commas: the last name is completed, those before it stay. $2: more words.
_vrtctl_devices() {
    local before=
    [[ $1 == *,* ]] && before=${1%,*},
    _vrtctl_words "$2 $(_vrtctl_ask devices)" "${1##*,}"
    COMPREPLY=("${COMPREPLY[@]/#/$before}")
    # Readline takes a colon for a word of its own.
    if [[ $1 == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${1%"${1##*:}"}"}")
    fi
}

# The word before the cursor and the option before it, whatever readline split at.
_vrtctl_current() {
    local line=${COMP_LINE:0:COMP_POINT}
    current=${line##* }
    line=${line% *}
    previous=${line##* }
}

_vrtctl() {
    local current previous command
    local common='--socket --timeout --json --help --version'
    _vrtctl_current
    command=$(_vrtctl_command)
    COMPREPLY=()

    case $previous in
    -d | --device)
        _vrtctl_devices "$current" 'auto all cpu cuda xpu mps cpu:-1'
        return
        ;;
    -m | --model)
        _vrtctl_words "$(_vrtctl_ask models)" "$current"
        compopt -o default
        return
        ;;
    --precision) _vrtctl_words 'auto f32 f16 bf16' "$current"; return ;;
    --codec) _vrtctl_words 'h264 hevc ffv1 av1 vp9 prores dnxhr mjpeg png jpeg
            tiff webp exr gif apng auto' "$current"
        return
        ;;
    --preset)
        _vrtctl_words 'ultrafast superfast veryfast faster fast medium slow slower veryslow' \
            "$current"
        return
        ;;
    -s | --socket | -o | --output | --output-dir | --reference | --fvd | --picture) compopt -o default; return ;;
    --state)
        _vrtctl_words 'queued fetching running finishing paused needs_input disk_full done failed
            cancelled' "$current"
        return
        ;;
    --sort)
        if [[ $command == top ]]; then
            _vrtctl_words 'state priority progress' "$current"
        else
            _vrtctl_words 'id state created finished done left priority input' "$current"
        fi
        return
        ;;
    --hwdec) _vrtctl_words 'off auto nvdec vaapi videotoolbox' "$current"; return ;;
    --hwaccel) _vrtctl_words 'off auto nvenc qsv vaapi videotoolbox' "$current"; return ;;
    --output-format)
        _vrtctl_words 'mkv mp4 mov webm ts mxf gif apng png jpg tiff webp exr' "$current"
        return
        ;;
    --deinterlace) _vrtctl_words 'off auto frame field telecine' "$current"; return ;;
    --alpha) _vrtctl_words 'auto resize network drop' "$current"; return ;;
    --tonemap) _vrtctl_words 'off hable mobius reinhard clip' "$current"; return ;;
    --tiling) _vrtctl_words 'blend official' "$current"; return ;;
    --scene-cuts) _vrtctl_words 'off on' "$current"; return ;;
    --clip | --clip-overlap | --sigma | --webhook | --sha256) return ;;
    --start | --duration | --end | --at | --fps | --times) return ;;
    --nodes | --gpus | --partition | --account | --time | --slurm-url) return ;;
    --tile | --overlap | --quality | --bitrate | --target-size | --strength | --denoise | --scale | --batch | --pix-fmt | --enc | --streams | --priority | --timeout | --size | --expires | -n | --frames | --match | --settled) return ;;
    esac

    case $command:$current in
    :-*) _vrtctl_words "$common" "$current" ;;
    :*)
        _vrtctl_words 'submit info status list show watch top wait pause resume retry priority cancel
            clean preview compare logs devices models codecs profile tune doctor cluster token
            version help' \
            "$current"
        ;;
    submit:-*)
        _vrtctl_words "--model --output --device --precision --tile --overlap --clip
            --clip-overlap --tiling --scene-cuts --sigma --strength --denoise --scale --codec --quality --preset
            --bitrate --target-size --pix-fmt --enc --streams --start --duration --end --fps
            --hwaccel --hwdec --deinterlace --alpha --times --tonemap --priority --strict
            --overwrite
            --output-format --reference --webhook --dry-run --follow --preview --recursive --match --output-dir
            --skip-done --settled --cluster --nodes --gpus --partition --account --time --slurm-url
            $common" "$current"
        ;;
    submit:* | info:[!-]* | info:) compopt -o default ;;
    info:-*) _vrtctl_words "--output --streams --model $common" "$current" ;;
    profile:-*)
        _vrtctl_words "--device --size --precision --tile --overlap --batch --frames $common" "$current"
        ;;
    doctor:-*) _vrtctl_words "--device --model $common" "$current" ;;
    tune:-*) _vrtctl_words "--device --model --sigma $common" "$current" ;;
    tune:*) compopt -o default ;;
    profile:*)
        _vrtctl_words "$(_vrtctl_ask models)" "$current"
        compopt -o default
        ;;
    resume:-* | retry:-*)
        _vrtctl_words "--output --model --reference --overwrite --all $common" "$current"
        ;;
    cluster:-*) _vrtctl_words "--slurm-url $common" "$current" ;;
    cluster:*)
        _vrtctl_words 'list show follow wait cancel hold release retry remove' "$current"
        compopt -o default
        ;;
    token:-*) _vrtctl_words "--admin --expires $common" "$current" ;;
    token:*) _vrtctl_words 'new list revoke' "$current" ;;
    models:-*) _vrtctl_words "--sha256 $common" "$current" ;;
    models:*) _vrtctl_words "pull $(_vrtctl_ask models)" "$current" ;;
    show:-*) _vrtctl_words "--history $common" "$current" ;;
    devices:-*) _vrtctl_words "--trim --reset-peak $common" "$current" ;;
    list:-*) _vrtctl_words "--all --state --sort --reverse $common" "$current" ;;
    top:-*) _vrtctl_words "--sort $common" "$current" ;;
    compare:-*) _vrtctl_words "--crop --fvd --vmaf --picture --overwrite $common" "$current" ;;
    compare:*) compopt -o default ;;
    preview:-*) _vrtctl_words "--at --output --overwrite $common" "$current" ;;
    clean:-*) _vrtctl_words "--all --state $common" "$current" ;;
    pause:-* | cancel:-* | wait:-*) _vrtctl_words "--all $common" "$current" ;;
    *:-*) _vrtctl_words "$common" "$current" ;;
    devices:*) _vrtctl_devices "$current" ;;
    clean:* | preview:* | logs:*) _vrtctl_words "$(_vrtctl_ask list --all)" "$current" ;;
    priority:*) _vrtctl_words "$(_vrtctl_ask list)" "$current" ;;
    # Jobs, or files: films' results.
    show:* | retry:*)
        _vrtctl_words "$(_vrtctl_ask list --all)" "$current"
        compopt -o default
        ;;
    watch:* | wait:* | pause:* | resume:* | cancel:*)
        _vrtctl_words "$(_vrtctl_ask list)" "$current"
        compopt -o default
        ;;
    esac
}

complete -F _vrtctl vrtctl
