# SPDX-License-Identifier: MIT
# fish completion for vrtctl: commands and options as it lists them itself (--help --json), devices,
# models and jobs of the running daemon.

# The values of the first key (id, name) of each line that `vrtctl $argv --json` prints; of films
# their results' paths.
function __vrtctl_ask
    $argv[1] --timeout 1 $argv[2..] --json 2>/dev/null |
        string match -rg \
            '^\{(?|"(?:id|name)":"?([^",}]*)|.*"output":"([^"]*)".*"kind":"film"\}$)'
end

# What an argument of this kind (FILE, MODEL, ID, ...) may be; $program and $command are known.
function __vrtctl_values -a kind current -S
    switch $kind
        case 'ID*' '[ID*'
            contains -- $command show retry clean preview logs; and set -l all --all
            __vrtctl_ask $program list $all
            string match -q '*INPUT*' $kind; and __fish_complete_path $current
        case '*FILE*' '*INPUT*' '*FOLDER*' PATH DIR
            __fish_complete_path $current
        case '*MODEL*' '*NAME*'
            __vrtctl_ask $program models
            string match -q '*NAME*' $kind; and echo pull; or __fish_complete_path $current
        case 'DEVICES' '*DEVICE*'
            # A list separated by commas: the last name is completed, those before it stay.
            set -l before (string match -r '^.*,' -- $current)
            string match -q DEVICES $kind; and set -l words auto all cpu cuda xpu mps cpu:-1
            printf '%s\n' "$before"$words "$before"(__vrtctl_ask $program devices)
        case '*TOKEN*' '*FILM...]'
            string match -ar '[a-z]+' -- $kind
            string match -q '*FILM*' $kind; and __fish_complete_path $current
        case '*COMMAND*'
            __vrtctl_commands
    end
end

function __vrtctl_commands -S
    $program --help --json | string replace -rf \
        '^\{"command":"([^"]*)",.*"summary":"(.*)"\}$' '$1\t$2'
end

function __vrtctl
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -l command
    set -l n 2
    while test $n -le (count $words)
        switch $words[$n]
            case -s --socket
                set n (math $n + 1)
                set -a program --socket $words[$n]
            case --timeout
                set n (math $n + 1)
            case '-*'
            case '*'
                set -q command[1]; or set command $words[$n]
        end
        set n (math $n + 1)
    end

    set -l options ($program[1] $command --help --json 2>/dev/null)
    set -l letters '"(?:option|letter)":"'(string escape --style=regex -- $words[-1])'",'
    set -l option (string match -r '^.*'$letters'.*"argument":"[^"].*$' -- $options)
    if set -q option[1]
        set -l values (string match -rg '"values":\[([^]]*)\]' -- $option[1])
        set -l kind (string match -rg '"argument":"([^"]*)"' -- $option[1])
        test -n "$values"; and string match -arg '"([^"]*)"' -- $values
        or __vrtctl_values $kind $current
    else if string match -q -- '-*' $current
        string replace -rf '^\{"option":"([^"]*)",.*"help":"(.*)"\}$' '$1\t$2' -- $options
    else if not set -q command[1]
        __vrtctl_commands
    else
        __vrtctl_values ($program[1] --help --json |
            string match -rg '^\{"command":"'$command'","operands":"([^"]*)"') $current
    end
end

complete -c vrtctl -f -a '(__vrtctl)'
