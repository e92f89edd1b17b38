# Completion of ddns for bash. To use it now: source <(ddns completions bash)
# To keep it: ddns completions bash > ~/.local/share/bash-completion/completions/ddns

_ddns() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} own="" words="" line
    local at=$((COMP_CWORD - 1)) offered="" is_file=""
    COMPREPLY=()
    # bash breaks `--option=value` into three words.
    [[ $current == "=" ]] && current=""
    while ((at > 0)) && [[ ${COMP_WORDS[at]} != -* ]]; do ((at--)); done
    local option=${COMP_WORDS[at]} behind=$((COMP_CWORD - at))
    [[ $behind -gt 1 && ${COMP_WORDS[at + 1]} == "=" ]] && ((behind--))
    ((at == 0)) && option=""

    local commands="@commands@"
    local configured="@configured@"
    local everywhere="@everywhere@"
    case $command in
@cases@        *) own="$configured @alone@ $everywhere" ;;
    esac
    case $option in
@values@    esac

    if [[ $current == -* ]]; then
        offered=$own
    elif [[ -n $option && $behind -eq 0 ]]; then
        return
    elif [[ -z $offered && -z $is_file && $COMP_CWORD -eq 1 ]]; then
        offered=$commands
    elif [[ -z $offered && -z $is_file && -z $option ]]; then
        offered=$words
    fi
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "$offered" -- "$current")
    if [[ -n $is_file && $current != -* ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
    fi
}

complete -F _ddns ddns
