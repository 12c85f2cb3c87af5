output "a" { value = try(nofunc(1), "d") }
output "b" { value = can(nofunc(1)) }
output "c" { value = try(provider::foo::bar(1), 2) }
