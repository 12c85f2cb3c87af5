resource "terraform_data" "a" { input = 1 }
resource "terraform_data" "b" { input = 2 }
moved {
  from = terraform_data.x
  to   = terraform_data.y
}
moved {
  from = terraform_data.y
  to   = terraform_data.x
}
