output "a" {
  value     = "x"
  sensitive = true
}

output "b" {
  value = "x"
}

output "c" {
  value     = "x"
  sensitive = true
}
