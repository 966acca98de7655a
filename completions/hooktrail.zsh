#compdef hooktrail
# zsh completion for hooktrail: asks the program itself what may come next.
_hooktrail() {
  local -a lines candidates
  local line word meaning
  lines=("${(@f)$("${words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null </dev/null)}")
  case $lines[1] in
    files) _files ;;
    directories) _files -/ ;;
    words)
      for line in "${(@)lines[2,-1]}"; do
        word=${line%%$'\t'*}
        meaning=${line#*$'\t'}
        candidates+=("${word//:/\\:}${meaning:+:$meaning}")
      done
      # The case of letters is the program's to decide.
      _describe hooktrail candidates -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}'
      ;;
  esac
}
# Found in $fpath the file is the function's body; sourced it only declares it.
if [[ $funcstack[1] == _hooktrail ]]; then
  _hooktrail "$@"
else
  # A ~/.zshrc without a framework may source this before compinit.
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _hooktrail hooktrail
fi
