# Converts a temperature from degrees Celsius to degrees Fahrenheit.
#
#     sh convert.sh CELSIUS
echo $(($1 * 9 / 5 - 32))
