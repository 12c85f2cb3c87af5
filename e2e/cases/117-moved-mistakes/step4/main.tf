resource "terraform_data" "a" { input = 1 }
resource "terraform_data" "c" { input = 2 }
moved {
  from = terraform_data.b
  to   = terraform_data.c
}
