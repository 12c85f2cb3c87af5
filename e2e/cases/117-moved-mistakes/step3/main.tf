resource "terraform_data" "a" { input = 1 }
resource "terraform_data" "c" { input = 2 }
moved {
  from = terraform_data.b
  to   = terraform_data.c
}
moved {
  from = terraform_data.q
  to   = terraform_data.c
}
