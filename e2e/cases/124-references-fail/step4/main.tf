resource "terraform_data" "a" {
  input = module.nope.x
}
