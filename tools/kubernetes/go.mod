module jutsu.com/operators/tools/kubernetes

go 1.26.0
