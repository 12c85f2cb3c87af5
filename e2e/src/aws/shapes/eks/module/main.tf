variable "name" { type = string }
variable "node_groups" {
  type = map(object({
    types  = optional(list(string), ["t3.medium"])
    min    = optional(number, 1)
    max    = optional(number, 1)
    labels = optional(map(string))
    taints = optional(list(object({ key = string, value = optional(string), effect = string })), [])
  }))
}
variable "access" {
  type    = any
  default = {}
}
locals {
  policies = { for item in flatten([
    for key, entry in var.access : [for name, policy in try(entry.policies, {}) : { id = "${key}_${name}", arn = entry.arn, policy = policy }]
  ]) : item.id => item }
}
resource "aws_vpc" "this" { cidr_block = "10.3.0.0/16" }
resource "aws_subnet" "this" {
  for_each          = { a = 0, b = 1 }
  vpc_id            = aws_vpc.this.id
  cidr_block        = cidrsubnet(aws_vpc.this.cidr_block, 4, each.value)
  availability_zone = "eu-west-1${each.key}"
}
resource "aws_iam_role" "this" {
  for_each           = { cluster = "eks", node = "ec2" }
  name               = "${var.name}-${each.key}"
  assume_role_policy = jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "${each.value}.amazonaws.com" } }] })
}
resource "aws_eks_cluster" "this" {
  name     = var.name
  role_arn = aws_iam_role.this["cluster"].arn
  vpc_config {
    subnet_ids = values(aws_subnet.this)[*].id
  }
  access_config {
    authentication_mode = "API"
  }
}
resource "aws_eks_node_group" "this" {
  for_each        = var.node_groups
  cluster_name    = aws_eks_cluster.this.name
  node_group_name = each.key
  node_role_arn   = aws_iam_role.this["node"].arn
  subnet_ids      = [for subnet in aws_subnet.this : subnet.id]
  instance_types  = each.value.types
  labels          = each.value.labels
  scaling_config {
    min_size     = each.value.min
    max_size     = max(each.value.max, each.value.min)
    desired_size = each.value.min
  }
  dynamic "taint" {
    for_each = each.value.taints
    content {
      key    = taint.value.key
      value  = taint.value.value
      effect = taint.value.effect
    }
  }
  lifecycle {
    create_before_destroy = true
    ignore_changes        = [scaling_config[0].desired_size]
  }
}
resource "aws_eks_access_entry" "this" {
  for_each      = { for key, entry in var.access : key => entry }
  cluster_name  = aws_eks_cluster.this.name
  principal_arn = each.value.arn
  type          = try(each.value.type, "STANDARD")
}
resource "aws_eks_access_policy_association" "this" {
  for_each      = local.policies
  cluster_name  = aws_eks_cluster.this.name
  principal_arn = each.value.arn
  policy_arn    = "arn:aws:eks::aws:cluster-access-policy/${each.value.policy.policy}"
  access_scope {
    type       = can(each.value.policy.namespaces) ? "namespace" : "cluster"
    namespaces = try(each.value.policy.namespaces, [])
  }
}
output "groups" { value = keys(aws_eks_node_group.this) }
