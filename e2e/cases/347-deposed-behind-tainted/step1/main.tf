resource "terraform_data" "tainted" {
  input = "t"
}

resource "terraform_data" "behind" {
  input = terraform_data.tainted.id
}
