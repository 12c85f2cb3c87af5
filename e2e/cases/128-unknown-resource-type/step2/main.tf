data "terraform_nope" "a" {
}
