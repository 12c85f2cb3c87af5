terraform {
  required_version = "> 99.0"
}
