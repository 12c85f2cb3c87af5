output "a" {
  value = "1"
}
output "c" {
  value = [1]
}
