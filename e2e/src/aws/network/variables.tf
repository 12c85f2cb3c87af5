variable "create" { default = true }
variable "name" { default = "demo" }
variable "cidr" { default = "10.0.0.0/16" }
variable "tenancy" { default = "default" }
variable "azs" { default = ["eu-west-1a", "eu-west-1b", "eu-west-1c"] }
variable "private_subnets" { default = ["10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24"] }
variable "public_subnets" { default = ["10.0.101.0/24", "10.0.102.0/24", "10.0.103.0/24"] }
variable "secondary_cidr_blocks" {
  type    = list(string)
  default = []
}
variable "enable_dns_hostnames" { default = true }
variable "ipv6" { default = false }
variable "single_nat_gateway" { default = false }
variable "one_nat_gateway_per_az" { default = true }
variable "enable_nat_gateway" { default = true }
variable "create_igw" { default = true }
variable "manage_default_security_group" { default = true }
variable "manage_default_network_acl" { default = true }
variable "manage_default_route_table" { default = true }
# The simulation forgets the tags of these options.
variable "enable_dhcp_options" { default = false }
variable "enable_flow_log" { default = true }
variable "enable_s3_endpoint" { default = true }
variable "default_security_group_name" {
  type    = string
  default = null
}
variable "default_security_group_ingress" {
  type    = list(map(string))
  default = []
}
variable "default_security_group_egress" {
  type    = list(map(string))
  default = []
}
variable "default_network_acl_rules" {
  type = list(map(string))
  default = [
    { rule_no = 100, action = "allow", from_port = 0, to_port = 0, protocol = "-1", cidr_block = "0.0.0.0/0" },
    { rule_no = 101, action = "allow", from_port = 0, to_port = 0, protocol = "-1", ipv6_cidr_block = "::/0" },
  ]
}
variable "default_route_table_routes" {
  type    = list(map(string))
  default = []
}
variable "public_acl_rules" {
  type    = list(map(string))
  default = [{ rule_number = 100, rule_action = "allow", from_port = 0, to_port = 0, protocol = "-1", cidr_block = "0.0.0.0/0" }]
}
variable "public_subnet_tags" { default = { Tier = "public" } }
variable "public_subnet_tags_by_az" {
  default = { "eu-west-1b" = { Zone = "b" } }
}
variable "vpc_tags" { default = {} }
variable "tags" { default = { Environment = "test" } }
variable "endpoint_groups" {
  type    = map(object({ description = string, open = bool }))
  default = { api = { description = "API", open = true }, none = { description = "none", open = false } }
}
