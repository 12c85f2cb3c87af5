resource "terraform_data" "src" {
  input = "good"
}
module "m" {
  source = "./m"
  x      = terraform_data.src.output
}
resource "terraform_data" "after" {
  input = module.m.out
}
resource "terraform_data" "after_other" {
  input = module.m.const
}
