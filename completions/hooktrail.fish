# fish completion for hooktrail: asks the program itself what may come next.
function __hooktrail_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] "$token" 2>/dev/null </dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path "$token"
        case directories
            __fish_complete_directories "$token" directory
        case words
            if set -q lines[2]
                printf '%s\n' $lines[2..-1]
            end
    end
end
complete -c hooktrail -f -a '(__hooktrail_complete)'
