/* SPDX-License-Identifier: MIT */

#include "client/commands/listing.h"

#include <jansson.h>
#include <stdio.h>

#include "client/cli.h"
#include "client/conn.h"
#include "client/terminal/screen.h"

/* Return: 0; VRT_CONN_E_*; -errno. */
static int take_list(const struct vrt_cli *cli, const struct vrt_listing *listing,
                     const json_t *json, struct vrt_table *table, struct vrt_error *error)
{
    const json_t *list = json_object_get(json, listing->key);
    int r = 0;

    if (!json_is_array(list) && listing->is_optional)
        return 0;
    if (!json_is_array(list))
        return vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                          "vrtd's answer holds no list of %s", listing->key);
    for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
        if (cli->args.json)
            vrt_cli_print_json(json_array_get(list, i));
        else
            r = listing->add(json_array_get(list, i), table, error);
    }
    if (r == 0 && listing->add_notes && !cli->args.json)
        r = listing->add_notes(json, table, error);
    return r < 0 ? vrt_refuse_errno(error, r, "listing") : r;
}

int vrt_listing_print(struct vrt_cli *cli, const struct vrt_listing *listing)
{
    struct vrt_table table;
    struct vrt_error error = { 0 };
    json_t *json = NULL;

    vrt_table_init(&table, listing->columns);
    int r = vrt_conn_get(cli->conn, &json, &error, "%s", listing->path);
    if (r == 0)
        r = take_list(cli, listing, json, &table, &error);
    json_decref(json);
    const bool is_silent = cli->args.json || (listing->is_optional && table.n_cells == 0);
    /* It follows another table. */
    if (r == 0 && !is_silent && listing->is_optional)
        putchar('\n');
    if (r == 0 && !is_silent)
        r = vrt_screen_print_table(&table);
    vrt_table_done(&table);
    return r != 0 ? vrt_cli_fail(cli, NULL, r, &error) : VRT_EXIT_OK;
}
