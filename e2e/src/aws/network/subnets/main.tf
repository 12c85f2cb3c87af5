variable "name" { type = string }
variable "vpc_id" { type = string }
variable "azs" { type = list(string) }
variable "cidrs" { type = list(string) }
variable "tables" { type = number }
variable "public" {
  type    = bool
  default = false
}
variable "acl_rules" { type = list(map(string)) }
variable "tags" { type = map(string) }
variable "tags_by_az" { type = map(map(string)) }

resource "aws_subnet" "this" {
  count = length(var.cidrs)

  vpc_id                          = var.vpc_id
  availability_zone               = length(regexall("^[a-z]{2}-", element(var.azs, count.index))) > 0 ? element(var.azs, count.index) : null
  availability_zone_id            = length(regexall("^[a-z]{2}-", element(var.azs, count.index))) == 0 ? element(var.azs, count.index) : null
  cidr_block                      = element(concat(var.cidrs, [""]), count.index)
  map_public_ip_on_launch         = var.public
  assign_ipv6_address_on_creation = false

  tags = merge(
    { Name = try(format("${var.name}-%s", element(var.azs, count.index)), "") },
    var.tags,
    lookup(var.tags_by_az, element(var.azs, count.index), {}),
  )
}

resource "aws_route_table" "this" {
  count  = var.tables
  vpc_id = var.vpc_id
  tags   = merge({ Name = var.tables == 1 ? var.name : format("${var.name}-%s", element(var.azs, count.index)) }, var.tags)
}

resource "aws_route_table_association" "this" {
  count          = length(var.cidrs)
  subnet_id      = element(aws_subnet.this[*].id, count.index)
  route_table_id = element(aws_route_table.this[*].id, var.tables == 1 ? 0 : count.index)
}

resource "aws_network_acl" "this" {
  count      = length(var.acl_rules) > 0 ? 1 : 0
  vpc_id     = var.vpc_id
  subnet_ids = aws_subnet.this[*].id
  tags       = merge({ Name = var.name }, var.tags)
}

resource "aws_network_acl_rule" "this" {
  for_each       = { for index, rule in var.acl_rules : format("%s-%d", rule.rule_action, index) => rule }
  network_acl_id = aws_network_acl.this[0].id
  egress         = false
  rule_number    = each.value.rule_number
  rule_action    = each.value.rule_action
  from_port      = lookup(each.value, "from_port", null)
  to_port        = lookup(each.value, "to_port", null)
  protocol       = each.value.protocol
  cidr_block     = lookup(each.value, "cidr_block", null)
}

output "ids" { value = aws_subnet.this[*].id }
output "arns" { value = compact(aws_subnet.this[*].arn) }
output "route_table_ids" { value = aws_route_table.this[*].id }
