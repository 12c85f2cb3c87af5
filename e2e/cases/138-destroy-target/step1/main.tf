resource "terraform_data" "a" { input = 1 }
resource "terraform_data" "b" { input = terraform_data.a.id }
resource "terraform_data" "c" { input = terraform_data.b.id }
resource "terraform_data" "d" { input = "alone" }
