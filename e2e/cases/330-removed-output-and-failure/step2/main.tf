resource "terraform_data" "a" {
  input = "b"
}

resource "terraform_data" "b" {
  input = terraform_data.a.output

  lifecycle {
    precondition {
      condition     = terraform_data.a.output == "a"
      error_message = "a changed"
    }
  }
}

output "kept" {
  value = 2
}
