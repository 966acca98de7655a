# PowerShell completion for hooktrail: asks the program itself what may come next.
Register-ArgumentCompleter -Native -CommandName hooktrail -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements |
        Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { $_.ToString().Trim("'", '"') })
    # Before 7.3 an empty argument does not reach a native program unless it is quoted.
    $typed = if ($wordToComplete -ne '') { $wordToComplete } elseif ($PSVersionTable.PSVersion -lt [version]'7.3') { '""' } else { '' }
    $program = $commandAst.CommandElements[0].ToString()
    $lines = @(& $program __complete @words $typed 2>$null)
    # Without an answer PowerShell completes files by itself.
    if ($lines.Count -eq 0 -or $lines[0] -ne 'words') { return }
    $lines | Select-Object -Skip 1 | ForEach-Object {
        $word, $meaning = $_ -split "`t", 2
        if ($word.StartsWith($wordToComplete, [StringComparison]::OrdinalIgnoreCase)) {
            if (-not $meaning) { $meaning = $word }
            [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $meaning)
        }
    }
}
