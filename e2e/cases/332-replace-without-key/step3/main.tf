resource "terraform_data" "many" {
  count = 2
}

resource "terraform_data" "keyed" {
  for_each = toset(["k"])
}

resource "terraform_data" "one" {
}

module "m" {
  source = "./m"
  count  = 2
}
