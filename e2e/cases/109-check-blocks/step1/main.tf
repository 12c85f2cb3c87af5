resource "terraform_data" "a" { input = "x" }
check "fine" {
  assert {
    condition     = terraform_data.a.output == "x"
    error_message = "must be x"
  }
}
check "bad" {
  assert {
    condition     = terraform_data.a.input == "y"
    error_message = "input must be y, it is ${terraform_data.a.input}"
  }
}
