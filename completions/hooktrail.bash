# bash completion for hooktrail: asks the program itself what may come next.
_hooktrail() {
  local current=${COMP_WORDS[COMP_CWORD]} directive word meaning quoted
  COMPREPLY=()
  # bash takes the equals sign of --option= for a word of its own.
  [[ $current == '=' ]] && current=
  {
    read -r directive || return 0
    case $directive in
      files | directories)
        compopt -o filenames 2>/dev/null
        [[ $directive == files ]] && directive=file || directive=directory
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -A "$directive" -- "$current")
        return 0
        ;;
    esac
    while IFS=$'\t' read -r word meaning; do
      printf -v quoted %q "$word"
      COMPREPLY+=("$quoted")
    done
  } < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
}
complete -F _hooktrail hooktrail
