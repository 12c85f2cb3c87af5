output "a" {
  value = "y"
}

output "b" {
  value = "y"
}
