resource "terraform_data" "keep" { input = 1 }
removed {
  from = terraform_data.forget
  lifecycle { destroy = false }
}
removed {
  from = terraform_data.destroy
  lifecycle { destroy = true }
}
