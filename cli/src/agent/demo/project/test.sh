# Tests convert.sh. Each pair is a temperature in degrees Celsius, and the same in degrees Fahrenheit.
failed=0
for pair in "0 32" "100 212" "-40 -40"; do
    set -- $pair
    result=$(sh convert.sh "$1")
    if [ "$result" = "$2" ]; then
        echo "ok: $1 C is $2 F"
    else
        echo "FAILED: $1 C is $2 F, but convert.sh prints $result"
        failed=1
    fi
done
exit $failed
