resource "terraform_data" "x" {
  count = 2
  input = count.index
}
