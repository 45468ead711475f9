/* SPDX-License-Identifier: MIT */
#pragma once

/* A client for tests that does what clients do, and what they shouldn't. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A connected, blocking socket whose reads give up after a minute. */
int http_client_connect(const char *path);

/* Sends all of it; what the server doesn't take any more is not an error. */
void http_client_send(int fd, const void *data, size_t size);

/* Sends two bytes with descriptors. */
void http_client_send_files(int fd, const char *two_bytes, const int *fds, int n_fds);

/*
 * As recv(), but goes on after an interruption: of sockets whose reads give up there is one also
 * without a signal, by the rings that libuv has for the same process. 0: the connection has ended,
 * or was reset.
 */
ssize_t http_client_receive(int fd, char *buffer, size_t size);

/* Reads so many bytes; the test fails where fewer come. */
void http_client_receive_all(int fd, char *buffer, size_t size);

/*
 * Reads one answer, header and body by its Content-Length.
 * Return: its status; 0 if the connection ended instead.
 */
int http_client_read(int fd, char *buffer, size_t size);

/* Whether the server has closed the connection, within the socket's time. */
bool http_client_is_closed(int fd);
