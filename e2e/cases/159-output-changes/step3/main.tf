output "a" {
  value     = "1"
  sensitive = true
}
