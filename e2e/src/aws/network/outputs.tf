output "vpc_id" { value = try(aws_vpc.this[0].id, null) }
output "private_subnets" { value = one(module.private[*].ids) }
output "nat_public_ips" { value = aws_eip.nat[*].public_ip }
output "public_arns" { value = try(module.public[0].arns, []) }
output "flow_role" { value = try(module.flow[0].role_arn, "") }
