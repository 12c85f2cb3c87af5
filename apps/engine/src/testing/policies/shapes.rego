# What policies may give that is no answer, or none in time.
package shapes

deny := 7

allow := input.stack.name == "one"

loop if {
	some i in numbers.range(1, 3000)
	some j in numbers.range(1, 3000)
	some k in numbers.range(1, 3000)
	i * j * k == -1
}

memory if count(numbers.range(1, 30000000)) == 3

violation contains input.run.id if loop
