locals {
  len_private = length(var.private_subnets)
  len_public  = length(var.public_subnets)
  create      = var.create && var.cidr != ""
  gateways    = var.single_nat_gateway ? 1 : var.one_nat_gateway_per_az ? length(var.azs) : max(local.len_private, local.len_public)
  vpc_id      = try(aws_vpc_ipv4_cidr_block_association.this[0].vpc_id, aws_vpc.this[0].id, "")
}

resource "aws_vpc" "this" {
  count = local.create ? 1 : 0

  cidr_block                       = var.cidr
  instance_tenancy                 = var.tenancy
  enable_dns_hostnames             = var.enable_dns_hostnames
  enable_dns_support               = true
  assign_generated_ipv6_cidr_block = var.ipv6 ? true : null

  tags = merge({ Name = var.name }, var.tags, var.vpc_tags)
}

resource "aws_vpc_ipv4_cidr_block_association" "this" {
  count = local.create && length(var.secondary_cidr_blocks) > 0 ? length(var.secondary_cidr_blocks) : 0

  vpc_id     = aws_vpc.this[0].id
  cidr_block = element(var.secondary_cidr_blocks, count.index)
}

module "public" {
  source = "./subnets"
  count  = local.create && local.len_public > 0 ? 1 : 0

  name       = "${var.name}-public"
  vpc_id     = local.vpc_id
  azs        = var.azs
  cidrs      = var.public_subnets
  public     = true
  acl_rules  = var.public_acl_rules
  tables     = 1
  tags       = merge(var.tags, var.public_subnet_tags)
  tags_by_az = var.public_subnet_tags_by_az
}

module "private" {
  source = "./subnets"
  count  = local.create && local.len_private > 0 ? 1 : 0

  name       = "${var.name}-private"
  vpc_id     = local.vpc_id
  azs        = var.azs
  cidrs      = var.private_subnets
  tables     = local.gateways
  acl_rules  = []
  tags       = merge(var.tags, { Tier = "private" })
  tags_by_az = {}
}

resource "aws_internet_gateway" "this" {
  count  = local.create && var.create_igw && local.len_public > 0 ? 1 : 0
  vpc_id = local.vpc_id
  tags   = merge({ "Name" = var.name }, var.tags)
}

resource "aws_route" "public_internet_gateway" {
  count = local.create && var.create_igw && local.len_public > 0 ? 1 : 0

  route_table_id         = module.public[0].route_table_ids[0]
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.this[0].id

  timeouts {
    create = "5m"
  }
}

resource "aws_eip" "nat" {
  count  = local.create && var.enable_nat_gateway ? local.gateways : 0
  domain = "vpc"

  tags = merge(
    { Name = format("${var.name}-%s", element(var.azs, var.single_nat_gateway ? 0 : count.index)) },
    var.tags,
  )
  depends_on = [aws_internet_gateway.this]
}

resource "aws_nat_gateway" "this" {
  count = local.create && var.enable_nat_gateway ? local.gateways : 0

  allocation_id = element(aws_eip.nat[*].id, var.single_nat_gateway ? 0 : count.index)
  subnet_id     = element(module.public[0].ids, var.single_nat_gateway ? 0 : count.index)
  tags          = merge({ Name = format("${var.name}-%s", element(var.azs, count.index)) }, var.tags)
  depends_on    = [aws_internet_gateway.this]
}

resource "aws_route" "private_nat_gateway" {
  count = local.create && var.enable_nat_gateway ? local.gateways : 0

  route_table_id         = element(module.private[0].route_table_ids, count.index)
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = element(aws_nat_gateway.this[*].id, count.index)

  timeouts {
    create = "5m"
  }
}

resource "aws_default_security_group" "this" {
  count  = local.create && var.manage_default_security_group ? 1 : 0
  vpc_id = aws_vpc.this[0].id

  dynamic "ingress" {
    for_each = var.default_security_group_ingress
    content {
      self             = lookup(ingress.value, "self", null)
      cidr_blocks      = compact(split(",", lookup(ingress.value, "cidr_blocks", "")))
      ipv6_cidr_blocks = compact(split(",", lookup(ingress.value, "ipv6_cidr_blocks", "")))
      prefix_list_ids  = compact(split(",", lookup(ingress.value, "prefix_list_ids", "")))
      security_groups  = compact(split(",", lookup(ingress.value, "security_groups", "")))
      description      = lookup(ingress.value, "description", null)
      from_port        = lookup(ingress.value, "from_port", 0)
      to_port          = lookup(ingress.value, "to_port", 0)
      protocol         = lookup(ingress.value, "protocol", "-1")
    }
  }

  dynamic "egress" {
    for_each = var.default_security_group_egress
    content {
      cidr_blocks = compact(split(",", lookup(egress.value, "cidr_blocks", "")))
      description = lookup(egress.value, "description", null)
      from_port   = lookup(egress.value, "from_port", 0)
      to_port     = lookup(egress.value, "to_port", 0)
      protocol    = lookup(egress.value, "protocol", "-1")
    }
  }

  tags = merge({ Name = coalesce(var.default_security_group_name, "${var.name}-default") }, var.tags)
}

resource "aws_default_network_acl" "this" {
  count                  = local.create && var.manage_default_network_acl ? 1 : 0
  default_network_acl_id = aws_vpc.this[0].default_network_acl_id
  subnet_ids             = null

  dynamic "ingress" {
    for_each = var.default_network_acl_rules
    content {
      action          = ingress.value.action
      cidr_block      = lookup(ingress.value, "cidr_block", null)
      from_port       = ingress.value.from_port
      icmp_code       = lookup(ingress.value, "icmp_code", null)
      icmp_type       = lookup(ingress.value, "icmp_type", null)
      ipv6_cidr_block = lookup(ingress.value, "ipv6_cidr_block", null)
      protocol        = ingress.value.protocol
      rule_no         = ingress.value.rule_no
      to_port         = ingress.value.to_port
    }
  }
  dynamic "egress" {
    for_each = var.default_network_acl_rules
    content {
      action          = egress.value.action
      cidr_block      = lookup(egress.value, "cidr_block", null)
      from_port       = egress.value.from_port
      ipv6_cidr_block = lookup(egress.value, "ipv6_cidr_block", null)
      protocol        = egress.value.protocol
      rule_no         = egress.value.rule_no
      to_port         = egress.value.to_port
    }
  }

  tags = merge({ Name = "${var.name}-default" }, var.tags)

  lifecycle {
    ignore_changes = [subnet_ids]
  }
}

resource "aws_default_route_table" "default" {
  count                  = local.create && var.manage_default_route_table ? 1 : 0
  default_route_table_id = aws_vpc.this[0].default_route_table_id
  propagating_vgws       = []

  dynamic "route" {
    for_each = var.default_route_table_routes
    content {
      cidr_block      = route.value.cidr_block
      ipv6_cidr_block = lookup(route.value, "ipv6_cidr_block", null)
      gateway_id      = lookup(route.value, "gateway_id", null)
    }
  }

  timeouts {
    create = "5m"
    update = "5m"
  }
  tags = merge({ Name = "${var.name}-default" }, var.tags)
}

resource "aws_vpc_dhcp_options" "this" {
  count                = local.create && var.enable_dhcp_options ? 1 : 0
  domain_name          = "service.consul"
  domain_name_servers  = ["127.0.0.1", "10.0.0.2"]
  ntp_servers          = []
  netbios_node_type    = ""
  tags                 = merge({ Name = var.name }, var.tags)
}

resource "aws_vpc_dhcp_options_association" "this" {
  count           = local.create && var.enable_dhcp_options ? 1 : 0
  vpc_id          = local.vpc_id
  dhcp_options_id = aws_vpc_dhcp_options.this[0].id
}

module "flow" {
  source = "./flow"
  count  = local.create && var.enable_flow_log ? 1 : 0
  name   = var.name
  tags   = var.tags
}

resource "aws_security_group" "endpoints" {
  for_each = local.create ? var.endpoint_groups : {}

  name_prefix = "${each.key}-"
  description = each.value.description
  vpc_id      = local.vpc_id

  dynamic "ingress" {
    for_each = each.value.open ? [443] : []
    content {
      from_port   = ingress.value
      to_port     = ingress.value
      protocol    = "tcp"
      cidr_blocks = [var.cidr]
    }
  }

  tags = var.tags
  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_endpoint" "s3" {
  count             = local.create && var.enable_s3_endpoint ? 1 : 0
  vpc_id            = local.vpc_id
  service_name      = "com.amazonaws.eu-west-1.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = flatten([module.public[*].route_table_ids, module.private[*].route_table_ids])
  policy            = data.aws_iam_policy_document.endpoint.json
  tags              = merge(var.tags, { Name = "${var.name}-s3" })
}

data "aws_iam_policy_document" "endpoint" {
  statement {
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = ["*"]
    principals {
      type        = "*"
      identifiers = ["*"]
    }
    condition {
      test     = "StringNotEquals"
      variable = "aws:SourceVpc"
      values   = ["vpc-12345678"]
    }
  }
}
