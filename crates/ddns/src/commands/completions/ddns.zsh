#compdef ddns
# Completion of ddns for zsh. To keep it: ddns completions zsh > DIR/_ddns, DIR a folder of $fpath.

_ddns() {
    local -a commands configured everywhere
    commands=(
@commands@    )
    configured=(
@configured@    )
    everywhere=(
@everywhere@    )
    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
        _describe -t commands command commands
        return
    fi
    case $words[2] in
@cases@        *)
            _arguments @alone@ $configured $everywhere ;;
    esac
}

if [[ $funcstack[1] == _ddns ]]; then _ddns "$@"; else compdef _ddns ddns; fi
