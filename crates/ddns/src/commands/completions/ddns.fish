# Completion of ddns for fish. To keep it:
#   ddns completions fish > ~/.config/fish/completions/ddns.fish

complete -c ddns -f
