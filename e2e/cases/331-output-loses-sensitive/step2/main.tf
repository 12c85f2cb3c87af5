output "a" {
  value = "x"
}

output "b" {
  value     = "x"
  sensitive = true
}
