resource "terraform_data" "keep" { input = 1 }
resource "terraform_data" "forget" { input = 2 }
resource "terraform_data" "destroy" { input = 3 }
