#compdef vrtctl
# SPDX-License-Identifier: MIT
# zsh completion for vrtctl: commands and options as it lists them itself (--help --json), devices,
# models and jobs of the running daemon.

# The values of the first key (id, name) of each line that `vrtctl "$@" --json` prints, of films
# their results' paths, in reply.
_vrtctl_ask() {
    local line
    reply=()
    for line in ${(f)"$($program --timeout 1 "$@" --json 2>/dev/null)"}; do
        [[ $line =~ '^\{"(id|name)":"?([^",}]*)' ||
            $line =~ '("output"):"([^"]*)".*"kind":"film"\}$' ]] && reply+=($match[2])
    done
}

_vrtctl_commands() {
    local line
    local -a names
    for line in ${(f)"$($program --help --json)"}; do
        [[ $line =~ '^\{"command":"([^"]*)",.*"summary":"(.*)"\}$' ]] && names+=("$match[1]:$match[2]")
    done
    _describe command names
}

# What an argument of this kind (FILE, MODEL, ID, ...) may be.
_vrtctl_values() {
    local -a reply
    case $1 in
    ID* | '[ID'*)
        _vrtctl_ask list ${${(M)command:#(show|retry|clean|preview|logs)}:+--all}
        compadd -- $reply
        [[ $1 == *INPUT* ]] && _files
        ;;
    *FILE* | *INPUT* | *FOLDER* | PATH | DIR) _files ;;
    *MODEL* | *NAME*)
        _vrtctl_ask models
        [[ $1 == *NAME* ]] && reply+=(pull)
        compadd -- $reply
        [[ $1 == *MODEL* ]] && _files
        ;;
    *DEVICE*)
        # A list separated by commas: the last name is completed, those before it stay.
        compset -P '*,'
        _vrtctl_ask devices
        [[ $1 == DEVICES ]] && reply+=(auto all cpu cuda xpu mps cpu:-1)
        compadd -- $reply
        ;;
    *TOKEN* | *FILM...]*)
        compadd -- ${=1//[^a-z]/ }
        [[ $1 == *FILM* ]] && _files
        ;;
    *COMMAND*) _vrtctl_commands ;;
    esac
}

_vrtctl() {
    local command line
    local -a program=($words[1]) options values
    integer i
    for ((i = 2; i < CURRENT; i++)); do
        case $words[i] in
        -s | --socket) program+=(--socket ${(Q)words[++i]}) ;;
        --timeout) ((i++)) ;;
        -*) ;;
        *) : ${command:=$words[i]} ;;
        esac
    done

    for line in ${(f)"$($words[1] $command --help --json 2>/dev/null)"}; do
        [[ $line =~ '^\{"option":"([^"]*)","letter":"([^"]*)","argument":"([^"]*)","values":\[(.*)\],"help":"(.*)"\}$' ]] ||
            continue
        options+=("$match[1]:$match[5]")
        [[ -n $match[3] && $words[CURRENT-1] == ($match[1]|$match[2]) ]] || continue
        values=(${(s:,:)match[4]//\"/})
        if (($#values)); then
            compadd -- $values
        else
            _vrtctl_values $match[3]
        fi
        return
    done

    if [[ $words[CURRENT] == -* ]]; then
        _describe -o option options
    elif [[ -z $command ]]; then
        _vrtctl_commands
    else
        for line in ${(f)"$($program --help --json)"}; do
            [[ $line =~ '^\{"command":"([^"]*)","operands":"([^"]*)"' && $match[1] == $command ]] &&
                _vrtctl_values $match[2]
        done
    fi
}

_vrtctl "$@"
