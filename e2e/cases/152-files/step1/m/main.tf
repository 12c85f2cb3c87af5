output "text" {
  value = file("${path.module}/inner.txt")
}
