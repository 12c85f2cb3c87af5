variable "password" {
  default   = "postgres"
  sensitive = true
}
resource "terraform_data" "db" {
  input = {
    user     = "postgres"
    password = var.password
    names    = ["postgres", "other"]
    note     = "user postgres"
  }
}
resource "terraform_data" "disk" {
  for_each = toset(["disk-of-postgres"])
  input    = "of ${each.key}"
}
output "user" {
  value = "postgres"
}
