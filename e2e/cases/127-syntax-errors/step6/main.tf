resource "terraform_data" "a" {
  nonsense = 1
}
