resource "terraform_data" "c" {
  input = "c"
}

module "n" {
  source = "./n"
  count  = 2
}
