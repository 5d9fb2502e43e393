# Functions about the CPU time of the machine; sourced by other scripts.

# Prints the clock ticks since boot in which processes ran, and those in which the host of a virtual machine refused the CPU.
cpu_ticks() {
    awk '/^cpu / { print $2 + $3 + $4 + $7 + $8, $9 + 0 }' /proc/stat 2>/dev/null || echo 0 0
}

# Prints the percentage of the wanted CPU time that was refused since an earlier output of cpu_ticks.
refused_percent() {
    local then=($1) now=($(cpu_ticks))
    local ran=$((now[0] - then[0])) refused=$((now[1] - then[1]))
    echo $((ran + refused > 0 ? 100 * refused / (ran + refused) : 0))
}
