resource "terraform_data" "a" { input = "y" }
check "bad" {
  assert {
    condition     = terraform_data.a.input == "y"
    error_message = "input must be y, it is ${terraform_data.a.input}"
  }
}
