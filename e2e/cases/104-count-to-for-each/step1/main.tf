resource "terraform_data" "x" {
  count = 2
  input = "v${count.index}"
}
