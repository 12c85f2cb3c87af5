resource "terraform_data" "a" {
  nonsense {
  }
}
