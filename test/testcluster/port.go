// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"fmt"
	"net"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// port is a TCP port on 127.0.0.1, reserved by a socket with SO_REUSEPORT that never listens. The
// kernel gives the port to no other process, even while a component restarts.
type port struct {
	number int
	fd     int
}

func reservePort() (*port, error) {
	number, fd, err := bindLoopback()
	if err != nil {
		return nil, fmt.Errorf("reserve a port on 127.0.0.1: %w", err)
	}
	return &port{number: number, fd: fd}, nil
}

func bindLoopback() (number, fd int, err error) {
	syscall.ForkLock.RLock() // no child may inherit the socket before CloseOnExec
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, 0, err
	}
	return name.(*unix.SockaddrInet4).Port, fd, nil
}

func (p *port) release() { _ = unix.Close(p.fd) }

func (p *port) String() string { return strconv.Itoa(p.number) }

func (p *port) url() string { return "https://" + net.JoinHostPort("127.0.0.1", p.String()) }
